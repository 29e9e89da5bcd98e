/**
 * Prompt that a person starts by its name. It describes the steps of a specialist who uses the tools of the service.
 */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  /** @param values all required arguments */
  text(values: Readonly<Record<string, string>>): string;
}

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'design-index',
    title: 'Design an index from a rulebook',
    description: 'Turns the text of a rulebook into an index definition, previews and backtests it.',
    arguments: [
      { name: 'rulebook', description: 'Text of the rulebook.', required: true },
      { name: 'index_id', description: 'Id of the new index.', required: true },
    ],
    text: ({ rulebook = '', index_id: id = '' }) => `Design the index ${id} from this rulebook:

${rulebook}

1. Read the catalogue (listRuleTypes, listFields, getGuidePage with page "define") and, where a published methodology is close, start from listMethodologyTemplates and getMethodologyTemplate.
2. Write the definition. List every sentence of the rulebook with the field that implements it, and every choice that the rulebook leaves open.
3. validateIndex until it has no error; correct each finding by its path.
4. previewDocument on a recent date; check the number of constituents, the largest weight and the exclusions against the rulebook.
5. Ask for approval, then createIndex, startBacktest and waitForJob.
6. Report getOverview, the largest drawdown and what caused it (getAttribution over its dates), and how turnover compares with the rulebook.
Weights and returns are fractions. Never invent a figure: quote the tool that returned it.`,
  },
  {
    name: 'explain-lag',
    title: 'Explain why this index lagged',
    description: 'Explains the return of an index against a benchmark over a period.',
    arguments: [
      { name: 'index_id', description: 'The index.', required: true },
      { name: 'benchmark', description: 'Index or series to compare with.', required: true },
      { name: 'start', description: 'First date, YYYY-MM-DD.', required: true },
      { name: 'end', description: 'Last date, YYYY-MM-DD.', required: true },
    ],
    text: ({
      index_id: id = '',
      benchmark = '',
      start = '',
      end = '',
    }) => `Explain why the index ${id} lagged ${benchmark} from ${start} to ${end}.

1. getPerformance with the benchmark over the period: active return, tracking error, drawdown.
2. getGroupAttribution by sector: which groups, by allocation or selection.
3. getAttribution: the ten securities with the largest negative contribution; getRunAsset and getCorporateActions for the largest three.
4. listRebalances and getRebalance in the period: whether trades caused it.
5. explainName for a security that a reader would expect in the index and that is absent.
State each effect in percent of the active return, the sum of the effects, and what remains unexplained.`,
  },
  {
    name: 'prepare-rebalance',
    title: 'Prepare the rebalance',
    description: 'Prepares the next rebalance of an index: changes, turnover, limits, orders.',
    arguments: [
      { name: 'index_id', description: 'The index.', required: true },
      { name: 'date', description: 'Date of the decision, YYYY-MM-DD.', required: true },
    ],
    text: ({ index_id: id = '', date = '' }) => `Prepare the rebalance of the index ${id} decided on ${date}.

1. getSchedule: announcement, decision and effective dates.
2. getCoverage: whether the data reaches ${date}; stop if it does not.
3. previewIndex as of ${date}: additions, deletions, weights.
4. packRebalance: trades and turnover. Name the ten largest trades and those above a day's volume.
5. watchLimits: concentration limits before and after.
6. getCorporateActions between the decision and the effective date.
Summarise in one page: additions, deletions with the rule that caused each (explainName), turnover, limits, open points for a decision.`,
  },
];
