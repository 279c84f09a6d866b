-- When the refresh began that has not ended; null: none has. Others that are due go before one whose refresh was lost.
alter table segments add column refresh_begun_at timestamptz;
