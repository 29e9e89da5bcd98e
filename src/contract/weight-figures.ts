import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';

/** Figures of the weights in an optimisation: of the index weights or of the solution. */
export const WeightFigures = defineObject(() => ({
  objective_value: z
    .number()
    .nullable()
    .meta({ description: 'Objective in its measure, including costs; null if it is undefined for the weights.' }),
  expected_return: z
    .number()
    .nullable()
    .meta({ description: 'Annualised expected return before costs; null without expected returns.' }),
  volatility: z.number().meta({ description: 'Annualised volatility, with the risk model of the optimisation.' }),
  tracking_error: z.number().meta({ description: 'Annualised tracking error against the index.' }),
  turnover: z.number().meta({ description: 'One-way turnover against the index weights.' }),
})).meta({ id: 'WeightFigures' });
