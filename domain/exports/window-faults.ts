/** From the start (null: all there is before the end) up to the end, without it. */
type Span = { start: Date | null; end: Date };
/** `gap`: no window has it; `overlap`: more than one. */
export type WindowFault = Span & { kind: 'gap' | 'overlap' };

/** Returns the gaps and overlaps of a chain of windows in time order, within `from` and `to` if given. */
export function windowFaults(windows: readonly Span[], { from, to }: { from?: Date; to?: Date } = {}): WindowFault[] {
  const spans = windows
    .map(({ start, end }) => ({
      start: Math.max(start?.getTime() ?? -Infinity, from?.getTime() ?? -Infinity),
      end: end.getTime(),
    }))
    .map(({ start, end }) => ({ start, end: Math.min(end, to?.getTime() ?? Infinity) }))
    .filter(({ start, end }) => start < end)
    .toSorted((a, b) => Math.sign(a.start - b.start) || a.end - b.end);
  const faults: WindowFault[] = [];
  const note = (kind: WindowFault['kind'], start: number, end: number) => {
    if (start < end) faults.push({ kind, start: start === -Infinity ? null : new Date(start), end: new Date(end) });
  };
  let until = from?.getTime() ?? spans[0]?.start ?? Infinity;
  for (const { start, end } of spans) {
    note('gap', until, start);
    note('overlap', start, Math.min(until, end));
    until = Math.max(until, end);
  }
  if (to) note('gap', until, to.getTime());
  return faults;
}
