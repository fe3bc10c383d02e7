-- Who may do what. Made and kept by `specwatch db roles`; where that may not create roles, run this with psql as one who
-- may, in the warehouse's database. Idempotent. Nobody can log in as these roles until a password is set, or until a
-- login of yours becomes a member: grant specwatch_reader to somebody.
do $$
declare
    item record;
begin
    for item in
        select m.role, m.meaning from (
            values
            ('specwatch_owner', 'Owns the schemas warehouse and staging: migrates, restores, drops what is past its time.'),
            ('specwatch_writer', 'Loads and analyzes: reads and writes rows, makes partitions; changes no table.'),
            ('specwatch_reader', 'Asks: views, dimensions and remarks; no single request, no staged row.'),
            ('specwatch_annotator', 'A reader that adds annotations and quarantine decisions, under its own name.')
        ) as m (role, meaning)
        where not exists (select 1 from pg_roles as r where r.rolname = m.role)
    loop
        execute format('create role %I nologin', item.role);
        execute format('comment on role %I is %L', item.role, item.meaning);
    end loop;
    if not pg_has_role('specwatch_annotator', 'specwatch_reader', 'usage') then
        grant specwatch_reader to specwatch_annotator;
    end if;
    if not pg_has_role('specwatch_owner', 'usage') then
        execute format('grant specwatch_owner to %I', current_user);
    end if;
end
$$;

-- The owner owns: the schemas, every table and view in them, and the function that makes partitions.
do $$
declare
    item record;
begin
    if not has_database_privilege('specwatch_owner', current_database(), 'create') then
        execute format('grant create on database %I to specwatch_owner', current_database());
    end if;
    for item in
        select n.nspname from pg_namespace as n
        where n.nspname in ('warehouse', 'staging') and n.nspowner <> 'specwatch_owner'::regrole
    loop
        execute format('alter schema %I owner to specwatch_owner', item.nspname);
    end loop;
    for item in
        select c.oid::regclass as name, c.relkind from pg_class as c
        where
            c.relnamespace in ('warehouse'::regnamespace, 'staging'::regnamespace)
            and c.relkind in ('r', 'p', 'v')
            and c.relowner <> 'specwatch_owner'::regrole
    loop
        execute format('alter %s %s owner to specwatch_owner', case item.relkind when 'v' then 'view' else 'table' end, item.name);
    end loop;
    for item in
        select f.oid::regprocedure as name from pg_proc as f
        where f.pronamespace = 'warehouse'::regnamespace and f.proowner <> 'specwatch_owner'::regrole
    loop
        execute format('alter function %s owner to specwatch_owner', item.name);
    end loop;
end
$$;

-- From nothing, so that a right that is no longer meant is gone.
revoke all on schema warehouse, staging from public, specwatch_writer, specwatch_reader, specwatch_annotator;
revoke all on all tables in schema warehouse, staging
from public, specwatch_writer, specwatch_reader, specwatch_annotator;
revoke all on all functions in schema warehouse from public, specwatch_writer, specwatch_reader, specwatch_annotator;

grant usage on schema warehouse, staging to specwatch_writer;
grant select, insert, update, delete on all tables in schema warehouse, staging to specwatch_writer;
revoke insert, update, delete on warehouse.annotation, warehouse.quarantine_decision, warehouse.alembic_version from specwatch_writer;
grant execute on function warehouse.ensure_request_partition(date) to specwatch_writer;

grant usage on schema warehouse to specwatch_reader, specwatch_annotator;
grant select on
    warehouse.engine, warehouse.hardware, warehouse.model, warehouse.method, warehouse.workload, warehouse.cell,
    warehouse.sweep, warehouse.annotation, warehouse.quarantine_decision, warehouse.alembic_version
to specwatch_reader;
do $$
declare
    item record;
begin
    for item in
        select c.oid::regclass as name from pg_class as c
        where c.relnamespace = 'warehouse'::regnamespace and c.relkind = 'v'
    loop
        execute format('grant select on %s to specwatch_reader', item.name);
    end loop;
end
$$;

-- Not the author and not the time: those are who it is, and when it was said.
grant insert (about, sweep_id, cell_id, engine_id, hardware_id, remark) on warehouse.annotation to specwatch_annotator;
grant insert (load_id, cell_id, decision, remark) on warehouse.quarantine_decision to specwatch_annotator;
