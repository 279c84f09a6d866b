/** What JSON.stringify writes as it stands. */
export type RawJson = { rawJSON: string };

/** A number's decimal text as a JSON number, however many digits it has (the library types lack JSON.rawJSON). */
export function rawNumber(decimal: string): RawJson {
  return (JSON as unknown as { rawJSON(text: string): RawJson }).rawJSON(decimal);
}

/** What is JSON already. */
export class JsonText {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}
