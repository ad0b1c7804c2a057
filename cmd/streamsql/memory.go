package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// memoryLimit is how many bytes this process may use: GOMEMLIMIT, the limit of its
// control group or the machine's memory, whichever is least; 0 when none is known.
func memoryLimit() int64 {
	least := debug.SetMemoryLimit(-1)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	if n := machineMemory(); n > 0 {
		least = min(least, n)
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// machineMemory is the machine's memory, 0 when it does not say.
func machineMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

func stateMemoryFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "state-memory", "", "how much of the queries' state may be in memory, such as 2 GB; "+
		"empty: a quarter of the memory that the process may use")
}

func readMemoryFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "read-memory", "", "how much of Kafka's topics all queries together read ahead, "+
		"such as 512 MB; empty: an eighth of the memory that the process may use, 256 MB at most")
}

// readMemory reads the flag; without it an eighth of the memory may hold what was read
// ahead, 256 MB at most.
func readMemory(flag string) (int64, error) {
	if flag == "" {
		const most = 256 << 20
		if n := memoryLimit(); n > 0 {
			return min(n/8, most), nil
		}
		return most, nil
	}
	return sizeFlag(flag)
}

// stateMemory reads the flag; without it, state may take a quarter of the memory: the
// rest is for what an epoch has in work, the store's caches and the garbage collector.
func stateMemory(flag string) (int64, error) {
	if flag == "" {
		return memoryLimit() / 4, nil
	}
	return sizeFlag(flag)
}

func sizeFlag(flag string) (int64, error) {
	n, ok := connector.ParseSize(flag)
	if !ok || n <= 0 {
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, "invalid size %q", flag).
			WithHint("Write a size such as '256 MB'.")
	}
	return n, nil
}

// cacheBytes is the size of the store's cache of blocks: a sixteenth of the memory, 64 MiB
// at most.
func cacheBytes() int64 {
	const most = 64 << 20
	if n := memoryLimit(); n > 0 {
		return min(n/16, most)
	}
	return most
}

// limitHeap makes the garbage collector keep within nine tenths of the memory that the
// process may use, where GOMEMLIMIT says nothing.
func limitHeap() {
	if n := memoryLimit(); n > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(n / 10 * 9)
	}
}
