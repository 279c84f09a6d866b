const MIN_CHARS = 8;
const MAX_CHARS = 256;

/** Returns the error of an app's key; Basic authentication allows no colon (RFC 7617; reference: API key). */
export function apiKeyError(key: string): string | undefined {
  if (key.length < MIN_CHARS) return `must have at least ${MIN_CHARS} characters`;
  if (key.length > MAX_CHARS) return `must have at most ${MAX_CHARS} characters`;
  if (!/^[!-9;-~]*$/.test(key)) return 'must hold printable ASCII characters alone, without spaces and colons';
  if (!/\d/.test(key) || !/[a-z]/.test(key) || !/[A-Z]/.test(key))
    return 'must hold a digit, a lowercase and an uppercase letter';
  return undefined;
}
