interface Example {
  readonly title: string;
  /** Rows of the result. */
  readonly help: string;
  readonly query: string;
}

/** Example queries. They return rows on every service that has a stored run. */
export const EXAMPLES: readonly Example[] = [
  {
    title: 'Return by index',
    help: 'Each index, before costs and as the portfolio after costs',
    query:
      'SELECT index_id,\n  round(100 * (arg_max(index_points, date) / arg_min(index_points, date) - 1), 2) AS return_in_percent,\n  round(100 * (arg_max(level, date) / arg_min(level, date) - 1), 2) AS portfolio_after_costs_in_percent,\n  min(date) AS first, max(date) AS last\nFROM levels\nGROUP BY index_id\nORDER BY return_in_percent DESC',
  },
  {
    title: 'Indices and their runs',
    help: 'Period, time of the run and data store',
    query: 'SELECT index_id, name, start, "end", run_at, store_id\nFROM runs\nORDER BY index_id',
  },
  {
    title: 'Latest levels',
    help: 'Level of the index and of its portfolio on the last date',
    query:
      'SELECT index_id, max(date) AS date, arg_max(index_points, date) AS index_points, arg_max(level, date) AS portfolio_after_costs\nFROM levels\nGROUP BY index_id',
  },
  {
    title: 'Largest weights',
    help: 'The ten largest constituents of each index',
    query:
      'SELECT index_id, identifier, weight\nFROM weights\nQUALIFY row_number() OVER (PARTITION BY index_id ORDER BY date DESC, weight DESC) <= 10',
  },
  {
    title: 'Turnover by year',
    help: 'One-way turnover of each index',
    query:
      'SELECT index_id, year(date) AS year, sum(abs(weight_after - weight_before)) / 2 AS turnover\nFROM trades\nGROUP BY ALL\nORDER BY ALL',
  },
  {
    title: 'Closes of one session',
    help: 'The 50 highest closes of the last session',
    query:
      'SELECT identifier, CLOSE\nFROM prices\nWHERE date = (SELECT max(date) FROM prices)\nORDER BY CLOSE DESC\nLIMIT 50',
  },
];
