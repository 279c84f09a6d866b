/** How many texts hold an id, by what they lie in: of what is not theirs for certain an archive tells no more. */
export class TextMatches {
  readonly #counts = new Map<string | null, number>();

  add(within: string | null, matches = 1): void {
    this.#counts.set(within, (this.#counts.get(within) ?? 0) + matches);
  }

  records(): { within: string | null; matches: number }[] {
    return [...this.#counts].map(([within, matches]) => ({ within, matches }));
  }
}
