// Every spin stands in the page; where scripts run one is shown at a time.
(function () {
  var spins = [].slice.call(document.querySelectorAll('section.spin')), steps = document.getElementById('stepper'), at = 0;
  addEventListener('beforeprint', function () {
    [].forEach.call(document.querySelectorAll('details'), function (each) { each.open = true; });
  });
  if (spins.length < 2) return;
  var say = document.getElementById('where');
  function show(number) {
    at = Math.max(0, Math.min(spins.length - 1, number));
    spins.forEach(function (spin, place) { spin.hidden = place !== at; });
    say.textContent = 'spin ' + (at + 1) + ' of ' + spins.length;
  }
  function all() {
    spins.forEach(function (spin) { spin.hidden = false; });
    say.textContent = 'all ' + spins.length + ' spins';
  }
  steps.hidden = false;
  document.getElementById('back').onclick = function () { show(at - 1); };
  document.getElementById('next').onclick = function () { show(at + 1); };
  document.getElementById('all').onclick = all;
  document.addEventListener('keydown', function (event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest('.scroll')) return;
    if (event.key === 'ArrowRight') show(at + 1);
    if (event.key === 'ArrowLeft') show(at - 1);
  });
  show(0);
})();
