package sql
import ("testing";"math/rand";"fmt";"strings";"os";"time";"bufio";"encoding/json"
"github.com/streamsql/streamsql/internal/sqlerr"
"github.com/streamsql/streamsql/sql/dialect")
func TestSplice(t *testing.T){
 var toks []string; var stm [][]string
 f,_:=os.Open("/tmp/stmts0.jsonl"); sc:=bufio.NewScanner(f); sc.Buffer(make([]byte,1<<20),1<<26)
 add:=func(s string){ if len(s)>1500 {return}; var l []string; for _,k:=range dialect.Lex(s){ if k.Kind!=dialect.Bad&&k.Kind!=dialect.EOF{ l=append(l,s[k.Pos:k.End])}}; stm=append(stm,l); toks=append(toks,l...)}
 i:=0
 for sc.Scan(){ i++; var s string; json.Unmarshal(sc.Bytes(),&s); if i%6==0{add(s)} }
 files,_:=os.ReadDir("testdata"); for _,n:=range files{ b,_:=os.ReadFile("testdata/"+n.Name()); for _,bl:=range strings.Split(string(b),"\n\n"){ if tx,_,ok:=strings.Cut(bl,"\n----\n");ok{_,tx,_=strings.Cut(tx,"\n"); for k:=0;k<10;k++{add(tx)}}}}
 r:=rand.New(rand.NewSource(time.Now().UnixNano())); n,ok:=0,0
 bad:=map[string]bool{}
 end:=time.Now().Add(60*time.Second)
 for time.Now().Before(end){
  s:=append([]string{},stm[r.Intn(len(stm))]...)
  for k:=r.Intn(4);k>=0;k--{ if len(s)==0{break}; j:=r.Intn(len(s)); switch r.Intn(4){
   case 0: s=append(s[:j],s[j+1:]...)
   case 1: s[j]=toks[r.Intn(len(toks))]
   case 2: s=append(s[:j],append([]string{toks[r.Intn(len(toks))]},s[j:]...)...)
   case 3: o:=stm[r.Intn(len(stm))]; if len(o)>0{a:=r.Intn(len(o)); b:=a+r.Intn(min(len(o)-a,8)); s=append(append(append([]string{},s[:j]...),o[a:b]...),s[j:]...)}}}
  x:=strings.Join(s," "); n++
  ch:=make(chan int,1)
  tm:=time.AfterFunc(5*time.Second,func(){fmt.Println("HANG",x);os.Exit(3)})
  st,err:=Parse(x); tm.Stop(); _=ch
  if err!=nil{ e:=sqlerr.From(err); if e.Code==sqlerr.InternalError||e.Pos<1||e.Pos>len(x)+1{ k:=e.Message; if !bad[k]{bad[k]=true; fmt.Println("BAD",e.Code,e.Message,e.Pos,x)}}; continue}
  ok++
  for _,q:=range st{ if m:=checkIdentity(q);m!=""{ k:=m; if len(k)>30{k=k[:30]}; if !bad[k]{bad[k]=true;fmt.Println("IDENT",m,"\n  ",x)}}}
 }
 fmt.Println(n,ok)
}
