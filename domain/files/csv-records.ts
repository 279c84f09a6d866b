const [QUOTE, CR, LF] = [0x22, 0x0d, 0x0a];

/** So many records of a CSV file. */
export type CsvPiece = { bytes: Buffer; rows: number };

/**
 * Ends the records of a CSV text with CR and LF (RFC 4180) where they ended with LF alone, and counts them. Line ends
 * between quotes stay as they are. Pieces may begin and end anywhere, between two bytes of a character too.
 */
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
