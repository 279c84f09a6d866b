/** Settings that several connectors have. */
import { z } from 'zod';

/** A token, an id or a secret: visible ASCII. */
export const credential = (name: string) =>
  z
    .string({ error: `${name} must be a text` })
    .min(1, `${name} must not be empty`)
    .max(4_096, `${name} must have at most 4096 characters`)
    .regex(/^[\x21-\x7e]*$/, `${name} must have no spaces and no other characters than ASCII`);

export const wholeNumber = (name: string, least: number, most: number) =>
  z
    .int({ error: `${name} must be a whole number` })
    .min(least, `${name} must be at least ${least}`)
    .max(most, `${name} must be at most ${most}`);
