import { z } from 'zod';

/** Weights in the figures of an optimisation: those of the index, or those that it decided. */
export const WeightFigures = z
  .strictObject({
    objective_value: z
      .number()
      .nullable()
      .meta({ description: 'The objective in its own terms, costs included; null where the weights have none.' }),
    expected_return: z
      .number()
      .nullable()
      .meta({ description: 'Annualised, before costs; null without expected returns.' }),
    volatility: z.number().meta({ description: 'Annualised, by the risk model of the optimisation.' }),
    tracking_error: z.number().meta({ description: 'Annualised, against the index.' }),
    turnover: z.number().meta({ description: 'One-way, against the index weights.' }),
  })
  .meta({ id: 'WeightFigures' });
