/** One rule of each kind that a screen is made of, and the one that chooses among what is left. */
export const eightRules = <Chooser>(chooser: Chooser) => [
  { id: 'history', type: 'HistoryFilter', params: { sessions: 252, coverage: 0.9 } },
  { id: 'price', type: 'PriceFilter', params: { minimum: 1 } },
  { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 1_000, window: 60 } },
  { id: 'calm', type: 'VolatilityFilter', params: { window: 252, maximum: 2 } },
  { id: 'winners', type: 'MomentumFilter', params: { window: 252, skip: 21, minimum: -0.5 } },
  { id: 'sectors', type: 'GroupLimit', params: { field: 'SECTOR', maximum: 200 } },
  {
    id: 'value',
    type: 'ExpressionFilter',
    params: {
      expression: {
        node: 'comparison',
        field: { node: 'field', name: 'VALUE_TRADED', transform: 'percentile' },
        comparison: 'ge',
        value: 0.1,
      },
    },
  },
  chooser,
];
