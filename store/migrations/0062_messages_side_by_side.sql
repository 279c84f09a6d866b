-- Messages of a request are taken by several transactions at once, so that none of them knows how far it is: what is left of them does.
alter table sends drop column next_ordinal;

-- Each drawn number stands for a hundred attempts, from it on.
alter sequence attempt_ids increment by 100;
