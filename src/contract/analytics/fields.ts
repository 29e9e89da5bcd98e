import { z } from 'zod';

export const fraction = (description: string) => z.number().meta({ description: `${description} A fraction.` });
export const date = (description: string) => z.string().meta({ description, format: 'date' });
export const weightMap = (description: string) => z.record(z.string(), z.number()).meta({ description });
