export type Line = {
  /** The line without its end; for a line over the limit, its beginning without the word that was cut. */
  text: string;
  /** Size of the whole line. */
  bytes: number;
  isCut: boolean;
  /** False for the text after the last newline. */
  isEnded: boolean;
};
