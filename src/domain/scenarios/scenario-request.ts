import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { isReversed } from '../schema/assert-order.js';
import { IsoDate } from '../schema/shape.js';

/** Maximum number of scenarios in a request, and of shocks in a scenario. */
const SCENARIOS_MAX = 50;
const SHOCKS_MAX = 100;

/** Default number of sessions in a regression. */
export const REGRESSION_SESSIONS = 504;

const name = z.string().min(1).max(100);

const WindowScenario = defineObject(() => ({
  name,
  window: z
    .strictObject({ start: IsoDate, end: IsoDate })
    .superRefine(({ start, end }, context) => {
      if (!isReversed({ start, end })) return;
      context.addIssue({
        code: 'custom',
        path: ['end'],
        input: end,
        params: { finding: 'INVALID_RANGE', isWhole: true },
        message: `is ${end}, before start ${start}`,
      });
    })
    .meta({
      description:
        'Past window. The return is that of a buy-and-hold portfolio from the close before `start` to the close of `end`.',
    }),
})).meta({ id: 'WindowScenario' });

/** Maximum change of a rate: the width of the range of rates. */
const BPS_MAX = 20_000;

/** Shock of an interest rate. */
const RateShock = z
  .strictObject({
    bps: z.number().min(-BPS_MAX).max(BPS_MAX).meta({ description: 'Change of the rate in basis points.' }),
  })
  .meta({ description: 'Shock of an interest rate.' });

const ShockScenario = defineObject(() => ({
  name,
  shocks: z
    .record(z.string().min(1).max(200), z.union([z.number().gt(-1).max(10), RateShock]))
    .refine((shocks) => Object.keys(shocks).length >= 1 && Object.keys(shocks).length <= SHOCKS_MAX, {
      params: { finding: 'OUT_OF_RANGE' },
      error: `must have 1 to ${SHOCKS_MAX} shocks`,
    })
    .meta({
      description:
        'Shocks as returns. A held identifier or a group such as `SECTOR:Energy` applies directly. All other securities respond to a series or another identifier of the data by regression. A rate in percent per year is shocked by basis points, for example `{ "bps": 100 }`.',
    }),
  regression_sessions: z.int().min(60).max(5040).default(REGRESSION_SESSIONS),
})).meta({ id: 'ShockScenario' });

/** Scenarios in a request, or in a table of a report. */
export const ScenarioList = z
  .array(z.union([WindowScenario, ShockScenario]))
  .min(1)
  .max(SCENARIOS_MAX)
  .superRefine((scenarios, context) => {
    const first = new Map<string, number>();
    scenarios.forEach(({ name: scenarioName }, position) => {
      const earlier = first.get(scenarioName);
      if (earlier === undefined) {
        first.set(scenarioName, position);
        return;
      }
      context.addIssue({
        code: 'custom',
        path: [position, 'name'],
        input: scenarioName,
        params: { finding: 'DUPLICATE_ID', isWhole: true },
        message: `is ${scenarioName}, the same name as scenarios[${earlier}].name`,
      });
    });
  });

export const ScenarioRequest = defineObject(() => ({
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Date of the composition. Default: the last date of the run.' }),
  by: z.string().min(1).max(64).default('SECTOR').meta({ description: 'Reference column of groups and proxies.' }),
  scenarios: ScenarioList,
})).meta({ id: 'ScenarioRequest' });
export type ScenarioRequest = z.output<typeof ScenarioRequest>;
/** Shock of a subject: a return, or a change of a rate in basis points. */
export type Shock = number | z.output<typeof RateShock>;
export type Scenario = ScenarioRequest['scenarios'][number];
