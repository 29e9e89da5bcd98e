import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { blockFields, defineBlockKind } from '../block.js';

/** Maximum number of characters: about six printed pages. */
const CHARACTERS_MAX = 20_000;

export const text = defineBlockKind({
  help: 'Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `.',
  schema: defineObject(() => ({
    kind: z.literal('text'),
    ...blockFields,
    text: z.string().max(CHARACTERS_MAX).meta({ description: 'The paragraphs.' }),
  })).meta({ id: 'TextBlock' }),
  example: {
    kind: 'text',
    title: 'Method',
    text: 'The **hundred largest** companies.\n\n- reviewed quarterly\n- weighted by free-float capitalisation',
  },
  runUse: () => 'never',
});
