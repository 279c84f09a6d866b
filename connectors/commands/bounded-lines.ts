export type Line = {
  /** Without its end; of a line over the limit, its first part without the word that is cut. */
  text: string;
  /** Of the whole line. */
  bytes: number;
  isCut: boolean;
  /** False for what stands behind the last newline. */
  isEnded: boolean;
};
