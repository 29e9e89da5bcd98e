/** Returns the definition of an index in New York that weights all securities equally. Default name: the id. */
export const createEqualIndex = <const Fields extends object>(id: string, fields: Fields) => ({
  id,
  name: id,
  calendar: 'XNYS',
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...fields,
});
