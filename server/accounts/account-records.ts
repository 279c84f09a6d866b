/** Entities, invitations, rights and names of users as the API shows them. */
import type { Entity as ApiEntity } from '../../api/accounts/entities.ts';
import type { Invitation as ApiInvitation } from '../../api/accounts/users.ts';
import { type Right, RIGHTS } from '../../domain/accounts/rights.ts';
import type { Entity } from '../../store/accounts/entities.ts';
import type { Invitation } from '../../store/accounts/invitations.ts';

export function showEntity(entity: Entity): ApiEntity {
  return {
    id: entity.id,
    name: entity.name,
    description: entity.description,
    identifier: entity.identifier,
    active: entity.active,
    qa_api_key: entity.qaApiKey,
    prod_api_key: entity.prodApiKey,
    data_retention_in_months: entity.dataRetentionInMonths,
  };
}

export function showInvitation(invitation: Invitation): ApiInvitation {
  const { identifier, email, firstName, lastName, rights, admin, superadmin, invitedBy, createdAt, expiresAt } =
    invitation;
  return {
    identifier,
    email,
    first_name: firstName,
    last_name: lastName,
    enable: showRights(new Set(rights)),
    admin,
    superadmin,
    invited_by: invitedBy,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    mail: { state: invitation.mailState ?? 'waiting', reason: invitation.mailReason },
  };
}

export function showRights(rights: ReadonlySet<Right>): Record<Right, boolean> {
  return Object.fromEntries(RIGHTS.map((right) => [right, rights.has(right)])) as Record<Right, boolean>;
}

export function fullName({ firstName, lastName }: { firstName: string; lastName: string }): string {
  return [firstName, lastName].filter(Boolean).join(' ');
}
