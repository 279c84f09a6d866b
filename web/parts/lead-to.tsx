import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/** Leads to another page in the place of this one, once: the router's own part does so with each render. */
export function LeadTo({ to, search = {} }: { to: string; search?: Record<string, string> }) {
  const navigate = useNavigate();
  const isLeaving = useRef(false);
  useEffect(() => {
    if (isLeaving.current) return;
    isLeaving.current = true;
    void navigate({ to, search, replace: true });
  });
  return null;
}
