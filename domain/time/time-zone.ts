/** Returns whether the name is a zone of the IANA database, such as Europe/Paris; offsets and abbreviations are not. */
export function isTimeZone(name: string): boolean {
  if (!/^(?:UTC|[A-Z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)+)$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
