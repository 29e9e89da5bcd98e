/** Data that a service prepares before a thread computes a view of a stored run, by name. */
export const RUN_VIEW_NEEDS = {
  window: 'The requested range of dates begins before it ends.',
  market: 'The market of the run, if it is active.',
  'own-market': 'The market of the run; absent while another store is active.',
  'outside-mergers': 'The definition of the run, if it removes securities that merge into others outside its universe.',
  'same-store': 'No store other than that of the run is active.',
  benchmark: 'The requested benchmark, if any, with every document that it refers to.',
  'run-benchmark': 'The benchmark of the run, if it is an index that is still stored.',
  'group-column': 'The reference column `by` of the market.',
  risk: 'The risk measure: a stored model, an estimate, or none; with a market if necessary.',
  factors: 'The factors: those of a stored model or of an estimate.',
  exposures: 'Groups, datapoints, universe and benchmark of exposures.',
  issuers: 'The column of issuers, and its market if one is read.',
  'watched-rows': 'Rows of the optimiser from the body, and the market of their datapoints.',
  scenarios: 'Scenarios from the body, and the market of the run.',
  memory: 'Window or half-life of rolling risk, and the reference of the risk.',
  files: 'The stored files of the run with their recorded hashes.',
} as const;

export type RunViewNeed = keyof typeof RUN_VIEW_NEEDS;

/** View of a stored run, as its route declares it. The handler, the service and the task use only these terms. */
export interface RunViewTerms {
  /** Name of the view in `workers/views/catalogue.ts`. */
  readonly name: string;
  /**
   * Required data in the order of preparation. The first preparation that fails determines the error of the request.
   */
  readonly needs: readonly RunViewNeed[];
  /**
   * True if the view reads the stored files in their current state. It is then never served from a cache, and damaged
   * files do not cause a refusal.
   */
  readonly isMadeAnew?: true;
}
