# One line for each request that ended; what `sort | uniq -c` counts is faster than `reduce inputs`.
def flag(condition): if condition then 1 else 0 end;
select(.stage == "ResponseComplete" or .stage == "Panic"
  or (.stage == "ResponseStarted" and .responseStatus.code == 401))
| (.verb == "list") as $list
| [ .user.username // "", .impersonatedUser.username // "", .userAgent // "", .verb,
    .objectRef.resource // "", .objectRef.apiGroup // "", .objectRef.subresource // "",
    flag($list and (.requestURI | test("[?&]resourceVersion=[^&]") | not)),
    flag($list and (.requestURI | test("[?&]resourceVersion=0(&|$)") and test("[?&]limit=0*[1-9]"))) ]
