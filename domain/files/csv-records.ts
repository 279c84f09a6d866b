const [QUOTE, CR, LF] = [0x22, 0x0d, 0x0a];

export type CsvPiece = { bytes: Buffer; rows: number };

/** Ends the records of a CSV text with CR LF (RFC 4180) and counts them; pieces may end anywhere. */
export class CsvRecords {
  #isQuoted = false;

  end(piece: Uint8Array): CsvPiece {
    const bytes = Buffer.allocUnsafe(2 * piece.length);
    let [to, rows] = [0, 0];
    for (let from = 0; from < piece.length; from += 1) {
      const byte = piece[from]!;
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (byte === LF && !this.#isQuoted) {
        bytes[to++] = CR;
        rows += 1;
      }
      bytes[to++] = byte;
    }
    return { bytes: bytes.subarray(0, to), rows };
  }
}
