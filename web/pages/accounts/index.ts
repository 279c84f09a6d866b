import { page } from '../page.ts';

export const accountPages = [
  page({
    path: '/admin/users',
    title: 'Users',
    question: 'Who may do what?',
    needs: ['listUsers'],
    menu: { group: 'Admin', icon: 'people' },
    key: 'u',
    load: () => import('./users.tsx').then(({ Users }) => Users),
  }),
  page({
    path: '/admin/tokens',
    title: 'Tokens',
    question: 'Which programs may call?',
    needs: ['listServiceTokens'],
    menu: { group: 'Admin', icon: 'key' },
    key: 't',
    load: () => import('./tokens.tsx').then(({ Tokens }) => Tokens),
  }),
  page({
    path: '/admin/audit',
    title: 'Audit log',
    question: 'Who did what, and who looked?',
    needs: ['listAuditEntries'],
    menu: { group: 'Admin', icon: 'eye' },
    key: 'a',
    load: () => import('./audit-log.tsx').then(({ AuditLog }) => AuditLog),
  }),
  page({
    path: '/admin/entities',
    title: 'Entities',
    question: 'Which clients does this server have?',
    needs: ['listEntities'],
    menu: { group: 'Admin', icon: 'box' },
    load: () => import('./entities.tsx').then(({ Entities }) => Entities),
  }),
  page({
    path: '/admin/system',
    title: 'System',
    question: 'Is the service well?',
    needs: ['viewSystem'],
    menu: { group: 'Admin', icon: 'pulse' },
    load: () => import('./system.tsx').then(({ System }) => System),
  }),
  page({
    path: '/me',
    title: 'You',
    question: 'How do I see the console, and how do I log in?',
    needs: [],
    load: () => import('./me.tsx').then(({ Me }) => Me),
  }),
];
