import { z } from 'zod';

export const defineFraction = (description: string) => z.number().meta({ description: `${description} A fraction.` });
export const defineDate = (description: string) => z.string().meta({ description, format: 'date' });
export const defineWeightMap = (description: string) => z.record(z.string(), z.number()).meta({ description });
