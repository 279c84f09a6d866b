/** Yields the rows of pieces one by one, as `show` makes them of a piece. */
export async function* shownRows<T, R>(
  pieces: AsyncIterable<readonly T[]>, show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
): AsyncGenerator<R> {
  for await (const piece of pieces) yield* await show(piece);
}
