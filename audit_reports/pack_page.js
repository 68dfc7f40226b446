// Every spin stands in the page; where scripts run one is shown at a time.
(function(){var spins=[].slice.call(document.querySelectorAll('section.spin')),nav=document.getElementById('steps'),at=0;
if(spins.length<2)return;nav.hidden=false;var say=document.getElementById('where');
function show(n){at=Math.max(0,Math.min(spins.length-1,n));spins.forEach(function(s,i){s.hidden=i!==at});
say.textContent='spin '+(at+1)+' of '+spins.length;}
function all(){spins.forEach(function(s){s.hidden=false});say.textContent='all '+spins.length+' spins';}
document.getElementById('back').onclick=function(){show(at-1)};document.getElementById('next').onclick=function(){show(at+1)};
document.getElementById('all').onclick=all;document.addEventListener('keydown',function(e){if(e.altKey||e.ctrlKey||e.metaKey)return;
if(e.key==='ArrowRight')show(at+1);if(e.key==='ArrowLeft')show(at-1);});show(0);})();
