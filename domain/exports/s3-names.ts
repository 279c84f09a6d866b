/** The name of a bucket, without s3:// (Amazon S3 user guide: General purpose bucket naming rules). */
export const BUCKET_NAME = /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/;

/** The name of a region, such as eu-central-1; of an S3 that is not Amazon's it may be any word. */
export const REGION_NAME = /^[a-z\d-]{1,64}$/;

const MAX_SUBFOLDER_CHARS = 512;
/** Characters that tools and SDKs may write differently into addresses (S3 user guide: Naming objects). */
const UNSAFE = /[^A-Za-z\d!_.*'()/-]/u;

export function trimSlashes(folder: string): string {
  const parts = folder.split('/');
  const first = parts.findIndex((part) => part !== '');
  return first < 0 ? '' : parts.slice(first, parts.findLastIndex((part) => part !== '') + 1).join('/');
}

export function subfolderError(folder: string): string | undefined {
  if (folder === '') return undefined;
  if (folder.length > MAX_SUBFOLDER_CHARS) return `must have at most ${MAX_SUBFOLDER_CHARS} characters`;
  if (UNSAFE.test(folder))
    return "must have letters of ASCII, digits and ! - _ . * ' ( ) alone, with / between folders";
  const parts = folder.split('/');
  if (parts.includes('')) return 'must not have two slashes in a row: that is a folder without a name';
  // Clients read them as steps in the tree, and so as another key.
  return parts.some((part) => part === '.' || part === '..') ? 'must not have a folder named . or ..' : undefined;
}
