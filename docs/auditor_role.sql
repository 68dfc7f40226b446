-- A role that can read a ledger and verify it, and change nothing. Run it once in the ledger's database, as its owner:
--   psql "postgresql://OWNER@HOST/DATABASE" -f auditor_role.sql
-- then give it a password with \password slot_auditor. It may be run again.

DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'slot_auditor') THEN
    CREATE ROLE slot_auditor LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
  END IF;
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO slot_auditor', current_database());
END $$;

ALTER ROLE slot_auditor SET default_transaction_read_only = on;

REVOKE ALL ON SCHEMA slot_ledger FROM slot_auditor;
REVOKE ALL ON ALL TABLES IN SCHEMA slot_ledger FROM slot_auditor;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA slot_ledger FROM slot_auditor;
GRANT USAGE ON SCHEMA slot_ledger TO slot_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA slot_ledger TO slot_auditor;

-- The names that account references stand for are personal data. Where the auditor must not see them, also run:
-- REVOKE SELECT ON slot_ledger.account_names, slot_ledger.texts FROM slot_auditor;
