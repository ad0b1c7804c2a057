package sql
import ("github.com/streamsql/streamsql/internal/sqlerr";"testing";"os";"strings";"encoding/json";"bufio";"fmt")
func TestX(t *testing.T){
 f,_:=os.Open("/tmp/stmts.jsonl")
 out,_:=os.Create("/tmp/cmp.jsonl")
 w:=bufio.NewWriter(out); defer w.Flush()
 sc:=bufio.NewScanner(f); sc.Buffer(make([]byte,1<<20),1<<26)
 enc:=json.NewEncoder(w)
 for sc.Scan(){
  var s string
  json.Unmarshal(sc.Bytes(),&s)
  l:=strings.ToLower(strings.TrimLeft(s," \n\t("))
  _=l
  st,err:=Parse(s)
  m:=map[string]any{"a":s,"w":strings.SplitN(l+" "," ",2)[0]}
  if err!=nil{ m["err"]=err.Error(); m["pos"]=sqlerr.From(err).Pos} else if len(st)==1 { b:=FormatStatement(st[0]); m["b"]=b
     st2,err:=Parse(b); if err!=nil {m["re"]=err.Error(); fmt.Println("RE",err,"\n  ",s,"\n  ",b)} else if b2:=FormatStatement(st2[0]);b2!=b {fmt.Println("DIFF\n  ",b,"\n  ",b2)} }
  enc.Encode(m)
 }
}
