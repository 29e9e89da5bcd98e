import type { Client } from 'pg';

/** Statements that grant a role the privileges that it needs to serve a schema. The guide lists the same statements. */
const GRANTS = [
  'USAGE ON SCHEMA $schema',
  'SELECT ON $schema.protocol',
  'SELECT, INSERT, UPDATE, DELETE ON $schema.documents, $schema.changes, $schema.events, $schema.jobs, $schema.nodes, $schema.parts',
  'USAGE ON ALL SEQUENCES IN SCHEMA $schema',
];
const PASSWORD = 'of-the-role';

/**
 * Creates a role that owns no objects. It may only read and write the tables of a schema.
 * @returns the database URL with this role
 */
export async function makeLeastRole(
  client: Pick<Client, 'query'>,
  { url, role, schema }: { readonly url: string; readonly role: string; readonly schema: string },
): Promise<string> {
  await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  for (const grant of GRANTS) await client.query(`GRANT ${grant.replaceAll('$schema', schema)} TO ${role}`);
  const roleUrl = new URL(url);
  roleUrl.username = role;
  roleUrl.password = PASSWORD;
  return roleUrl.href;
}
