import { z } from 'zod';

export const stage = z
  .string()
  .nullable()
  .describe('`waiting for a free place`: the worker is busy with other work. Null: the work goes on, or does not run');
