/** How a bucket may be asked to encrypt what is uploaded, as S3's header x-amz-server-side-encryption names it. */
export const SERVER_SIDE_ENCRYPTIONS = ['AES256', 'aws:kms'] as const;

/** `kmsKeyId`: the key for aws:kms; null: the account's own for S3. */
export type ServerSideEncryption = { algorithm: (typeof SERVER_SIDE_ENCRYPTIONS)[number]; kmsKeyId: string | null };
