-- Orders of SIMs, what a unit costs, and which order a SIM came with.

create table orders (
  id integer generated always as identity primary key,
  tenant_id text not null default app_tenant() references tenants,
  type smallint not null check (type in (1, 2)),           -- OrderType
  quantity integer not null check (quantity between 1 and 10000),
  unit_price bigint not null check (unit_price >= 0),      -- micro-units of the currency, fixed when it was made
  total bigint not null check (total = quantity * unit_price),
  status text not null default 'Pending'
    check (status in ('Pending', 'Processing', 'Shipped', 'Delivered', 'Completed', 'Cancelled', 'Failed')), -- ORDER_STATUSES
  payment_invoice_id text,
  payment_receipt_url text,
  shipping_company text,
  shipping_line1 text,
  shipping_line2 text,
  shipping_city text,
  shipping_country text,
  shipping_postcode text,
  shipping_extra_info text,
  tracking_number text,
  shipping_carrier text,
  failure_reason text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index orders_tenant on orders (tenant_id, created_at desc, id desc);

-- The order a SIM came with; null: imported. Lock order: the order, then its SIMs.
alter table sims add column order_id integer references orders;
create index sims_order on sims (order_id, id) where order_id is not null;

-- Numbers behind the prefix of made ICCIDs. Taken by transactions that may come to nothing: it has gaps.
create sequence esim_accounts;
grant usage on sequence esim_accounts to simherd_tenant;

create table order_prices (
  tenant_id text references tenants,                       -- null: the platform's, where a tenant has none of its own
  type smallint not null check (type in (1, 2)),           -- OrderType
  price bigint not null check (price >= 0),                -- micro-units of the currency
  updated_at timestamptz not null
);
create unique index order_prices_owner on order_prices (coalesce(tenant_id, ''), type);
-- Before row-level security binds the owner too.
insert into order_prices (tenant_id, type, price, updated_at) values (null, 1, 2500000, now()), (null, 2, 1000000, now());

alter table orders enable row level security;
alter table orders force row level security;
create policy own on orders to simherd_tenant using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
grant select, insert, update on orders to simherd_tenant;

alter table order_prices enable row level security;
alter table order_prices force row level security;
create policy readable on order_prices for select to simherd_tenant using (tenant_id = app_tenant() or tenant_id is null);
create policy own_insert on order_prices for insert to simherd_tenant with check (tenant_id = app_tenant());
create policy own_update on order_prices for update to simherd_tenant
  using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy own_delete on order_prices for delete to simherd_tenant using (tenant_id = app_tenant());
create policy platform on order_prices to simherd_platform using (tenant_id is null) with check (tenant_id is null);
grant select, insert, update, delete on order_prices to simherd_tenant, simherd_platform;
