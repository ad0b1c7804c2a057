true and null => bool NULL
false and null => bool f
null and null => bool NULL
true or null => bool t
false or null => bool NULL
not null::boolean => bool NULL
not true => bool f
1 = 1 and 2 = 2 => bool t
false and 1/0 = 1 => bool f
true or 1/0 = 1 => bool t
1/0 = 1 and false => ERROR 22012
null and 1/0 = 1 => ERROR 22012
1 and true => ERROR 42804
'a' and true => ERROR 22P02
'true' and true => bool t
null is null => bool t
1 is null => bool f
1 is not null => bool t
true is true => bool t
null::boolean is true => bool f
null::boolean is not true => bool t
false is false => bool t
null::boolean is unknown => bool t
true is not unknown => bool t
1 is true => ERROR 42804
1 is distinct from 2 => bool t
1 is distinct from null => bool t
null is distinct from null => bool f
1 is not distinct from 1 => bool t
null is not distinct from null => bool t
case when true then 1 else 2 end => int4 1
case when false then 1 end => int4 NULL
case when false then 1/0 else 2 end => int4 2
case 1 when 1 then 'a' when 2 then 'b' end => text a
case 3 when 1 then 'a' when 2 then 'b' end => text NULL
case 3 when 1 then 'a' when 2 then 'b' else 'c' end => text c
case null when null then 1 else 2 end => int4 2
case when null then 1 else 2 end => int4 2
case when 1 then 2 end => ERROR 42804
case when true then 1 else 'a' end => ERROR 22P02
case when true then 1 else '2' end => int4 1
case when true then 1 else 2.5 end => numeric 1
case 'a' when 'a' then 1::smallint else 2::bigint end => int8 1
case when true then 'a' else 'b' end => text a
case when true then 1 else true end => ERROR 42804
coalesce(null, 1) => int4 1
coalesce(null, null) => text NULL
coalesce(1, 1/0) => int4 1
coalesce(null, 'a') => text a
coalesce(1, 2.5) => numeric 1
coalesce(1, 'x') => ERROR 22P02
coalesce(1, 'a'::text) => ERROR 42804
nullif(1, 1) => int4 NULL
nullif(1, 2) => int4 1
nullif('a', 'a') => text NULL
nullif(null, 1) => int4 NULL
nullif(1, null) => int4 1
nullif(1.0, 1) => numeric NULL
nullif(1, 'a') => ERROR 22P02
greatest(1, 2, 3) => int4 3
greatest(1, null, 3) => int4 3
greatest(null, null) => text NULL
greatest(1, 2.5) => numeric 2.5
least('b', 'a') => text a
least(1, '0') => int4 0
greatest('nan'::float8, 1) => float8 NaN
least('nan'::float8, 1) => float8 1
(1, 2) = (1, 2) => bool t
(1, 2) = (1, 3) => bool f
(1, null) = (1, 2) => bool NULL
(1, null) = (2, 2) => bool f
(1, 2) < (1, 3) => bool t
(1, null) < (2, 1) => bool t
(1, null) < (1, 1) => bool NULL
(2, 1) <= (1, 5) => bool f
(1, 2) <> (1, 2) => bool f
(1, 2) = (1, 2, 3) => ERROR 42601
row(1, 'a') is null => bool f
row(null, null) is null => bool t
row(1, null) is null => bool f
row(1, null) is not null => bool f
row(1, 2) is not null => bool t
row(1, 'a b', null) => record (1,"a b",)
true = false => bool f
true > false => bool t
true::text => text true
'yes'::boolean => bool t
'of'::boolean => bool f
'o'::boolean => ERROR 22P02
'maybe'::boolean => ERROR 22P02
true::varchar(2) => varchar tr
