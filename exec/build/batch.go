package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/plan/physical"
)

type workTable struct{}

// batchNode builds the nodes that only finite reads have.
func (b *builder) batchNode(physical.Node) (*exec.Tree, bool, error) { return nil, false, nil }
