/** IAM policies of an exporter: the rights of its role in the bucket, and the trust in this server. */
import { awsPartition } from './aws-partition.ts';

type Statement = {
  Sid: string;
  Effect: 'Allow';
  Action: string[];
  Resource: string;
  Condition?: Record<string, Record<string, string[]>>;
};

export type PolicyDocument<S> = { Version: '2012-10-17'; Statement: S[] };

/** Signs with a meaning in IAM, and how to write them plainly (IAM: policy variables, special characters). */
const SPECIAL: Record<string, string> = { '*': '${*}', '?': '${?}', $: '${$}' };

/** Returns the least rights of an exporter. Unfinished uploads are listed by bucket: IAM has no prefix for them. */
export function exportPolicy({
  bucket,
  subfolder,
  region,
}: {
  bucket: string;
  subfolder: string;
  region: string;
}): PolicyDocument<Statement> {
  const bucketArn = `arn:${awsPartition(region).name}:s3:::${bucket}`;
  const folder = subfolder === '' ? '' : `${subfolder.replaceAll(/[*?$]/g, (sign) => SPECIAL[sign]!)}/`;
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'MillraceFiles',
        Effect: 'Allow',
        Action: ['s3:PutObject', 's3:GetObject', 's3:DeleteObject', 's3:AbortMultipartUpload'],
        Resource: `${bucketArn}/${folder}*`,
      },
      {
        Sid: 'MillraceList',
        Effect: 'Allow',
        Action: ['s3:ListBucket'],
        Resource: bucketArn,
        ...(folder === '' ? {} : { Condition: { StringLike: { 's3:prefix': [`${folder}*`] } } }),
      },
      { Sid: 'MillraceUploads', Effect: 'Allow', Action: ['s3:ListBucketMultipartUploads'], Resource: bucketArn },
    ],
  };
}

/** Placeholder for the ARN of the AWS identity that the server runs as, which only its operator knows. */
export const SERVER_IDENTITY = 'ARN_OF_THE_AWS_IDENTITY_OF_THIS_SERVER';

type TrustStatement = {
  Effect: 'Allow';
  Principal: { AWS: string };
  Action: 'sts:AssumeRole';
  Condition: { StringEquals: { 'sts:ExternalId': string } };
};

/** Returns the policy by which the server alone may assume the role, with this external id (IAM: confused deputy). */
export function trustPolicy({ externalId }: { externalId: string }): PolicyDocument<TrustStatement> {
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { AWS: SERVER_IDENTITY },
        Action: 'sts:AssumeRole',
        Condition: { StringEquals: { 'sts:ExternalId': externalId } },
      },
    ],
  };
}
