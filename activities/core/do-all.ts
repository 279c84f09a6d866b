import { isInternal } from '../../domain/core/internal-error.ts';

/** Does each part although others fail. Once all were tried it throws an error of ours, or else the first. */
export async function doAll(
  parts: Iterable<() => Promise<unknown>> | AsyncIterable<() => Promise<unknown>>,
): Promise<void> {
  const errors: unknown[] = [];
  for await (const part of parts) await part().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors.find((error) => isInternal(error)) ?? errors[0];
}
