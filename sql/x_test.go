package sql
import ("testing";"os";"strings";"fmt")
func TestX(t *testing.T){
 b,_:=os.ReadFile(os.Getenv("XF"))
 n,ok:=0,0
 for _,l:=range strings.Split(string(b),"\n"){
  l=strings.TrimSpace(l)
  if l==""||strings.HasPrefix(l,"##"){continue}
  if i:=strings.Index(l,"\t"); os.Getenv("TAB")!=""&&i>=0 {l=l[i+1:]}
  l=strings.ReplaceAll(l,`\n`,"\n")
  n++
  q,err:=ParseQuery(l)
  if err!=nil{ fmt.Println("ERR",err,"::",l); continue}
  f:=FormatQuery(q)
  q2,err:=ParseQuery(f)
  if err!=nil{ fmt.Println("RE-ERR",err,"::",f,"<==",l); continue}
  if f2:=FormatQuery(q2);f2!=f{fmt.Println("DIFF",f,f2)}
  ok++
  if os.Getenv("V")!=""{fmt.Println(l,"\n    ",f)}
 }
 fmt.Println(n,ok)
}
