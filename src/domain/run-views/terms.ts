/** What a service looks up for a view of a stored run before a thread makes it, by name. */
export const RUN_VIEW_NEEDS = {
  window: 'The range of dates asked for begins before it ends.',
  market: 'The market of the run, served.',
  'own-market': 'The market of the run; none while another store is served.',
  'outside-mergers': 'The definition of the run, if it removes securities that merge into others outside its universe.',
  'same-store': 'No other store than that of the run is served.',
  benchmark: 'The benchmark asked for, if any, with every document that it reaches.',
  'run-benchmark': 'The benchmark that the run was made with, if it is an index that is still stored.',
  'group-column': 'The reference column `by`, which the market has.',
  risk: 'How risk is measured: by a stored model, an estimate, or not at all; a market where it needs one.',
  factors: 'The factors: those of a stored model or of an estimate.',
  exposures: 'Groups, datapoints, universe and benchmark of exposures.',
  issuers: 'The column of issuers, and its market where one is read.',
  'watched-rows': 'Rows of the optimiser from the body, and the market of their datapoints.',
  scenarios: 'Scenarios from the body, and the market of the run.',
  memory: 'Window or half-life of rolling risk, and what risk is measured against.',
  files: 'The stored files of the run with the hashes recorded for them.',
} as const;

export type RunViewNeed = keyof typeof RUN_VIEW_NEEDS;

/** A view of one stored run, as its route declares it: handler, service and task follow from these terms. */
export interface RunViewTerms {
  /** Name of the view in `workers/views/catalogue.ts`. */
  readonly name: string;
  /** In the order in which they are looked up: the first that fails is the error of the request. */
  readonly needs: readonly RunViewNeed[];
  /** The view reads the stored files as they are now: no held answer serves it, and damage does not refuse it. */
  readonly isMadeAnew?: true;
}
