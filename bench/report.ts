/** One figure: ours against what it is held to, both measured in this run. */
export type Figure = {
  name: string;
  /** Results of ours and the other side, with units. */
  ours: string;
  against: string;
  ratio: number;
  goal: string;
  reached: boolean;
};

/** At least `goal` times as much as the other side. */
export function atLeast(name: string, unit: string, ours: number, other: number, goal: number): Figure {
  const ratio = ours / other;
  return {
    name,
    ours: amount(ours, unit),
    against: amount(other, unit),
    ratio: rounded(ratio),
    goal: `≥ ${goal}`,
    reached: ratio >= goal,
  };
}

/** At most `goal` times the seconds of the other side. */
export function atMostTimes(name: string, ours: number, other: number, goal: number): Figure {
  const ratio = ours / other;
  const ms = (seconds: number) => amount(seconds * 1000, 'ms');
  return { name, ours: ms(ours), against: ms(other), ratio: rounded(ratio), goal: `≤ ${goal}`, reached: ratio <= goal };
}

/** At most `limit` of a unit, against no other side: the ratio is the share of the limit that was used. */
export function atMost(name: string, unit: string, ours: number, limit: number): Figure {
  return {
    name,
    ours: amount(ours, unit),
    against: '–',
    ratio: rounded(ours / limit),
    goal: `≤ ${limit} ${unit}`,
    reached: ours <= limit,
  };
}

/** Returns the median of an odd number of runs of a figure. */
export function median(runs: readonly Figure[]): Figure {
  return runs.toSorted((a, b) => a.ratio - b.ratio)[Math.floor(runs.length / 2)]!;
}

function amount(value: number, unit: string): string {
  return `${value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)} ${unit}`;
}

function rounded(ratio: number): number {
  return Math.round(ratio * 100) / 100;
}

/** Returns the figures as a Markdown table. */
export function markdown(figures: Figure[]): string {
  const rows = figures.map(({ name, ours, against, ratio, goal, reached }) => [
    name,
    ours,
    against,
    String(ratio),
    goal,
    reached ? 'yes' : 'no',
  ]);
  const head = ['work', 'Millrace', 'against', 'ratio', 'goal', 'reached'];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
