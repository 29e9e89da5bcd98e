/** Process that computes parts of other nodes' jobs. */
export interface PartNode {
  readonly node: string;
  /** Returns the program version. The same version computes all parts of one attempt. */
  version(): string;
}

/**
 * Returns the SQL text after FROM for the parts that a node may take. They belong to a running attempt of another node
 * with the same program version.
 */
export function formatTakeableParts(schema: string, { node, version }: { node: string; version: string }): string {
  return `${schema}.parts AS p JOIN ${schema}.jobs AS j USING (job_id, sequence, attempt)
    WHERE p.node IS NULL AND p.version = ${version} AND j.status = 'running' AND j.node <> ${node}
      AND j.lease_until > clock_timestamp()`;
}
