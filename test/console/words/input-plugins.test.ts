import { expect, test } from 'vitest';
import { createInputPlugins } from '#console/pages/plugins/inputs.js';

const INPUTS = {
  close: { expression: 'CLOSE', sessions: 1 },
  returns: { expression: 'RETURN', sessions: 252 },
  high: { expression: 'max(CLOSE, window=252)' },
};

test('inputs of a selection with one session are read as datapoints', () => {
  const plugins = createInputPlugins({ kind: 'selection', inputs: INPUTS });
  expect(plugins.map(({ name }) => name)).toEqual(['close', 'high']);
  expect(plugins[1]!.plugin).toMatchObject({ kind: 'datapoint', inputs: { high: INPUTS.high } });
});

test('inputs of other kinds of plug-ins are not read', () => {
  expect(createInputPlugins({ kind: 'weighting', inputs: INPUTS })).toEqual([]);
});
