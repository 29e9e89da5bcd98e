import { z } from 'zod';

const COMMENT_LENGTH_MAX = 2000;

/** Returns the schema of an optional comment on a decision. */
export const createCommentSchema = (description: string) =>
  z.string().trim().min(1).max(COMMENT_LENGTH_MAX).nullable().default(null).meta({ description });
