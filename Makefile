# What CI runs and what a developer runs are the same targets.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PACKAGES    ?= ./...
# Tests run in a checked build: buffers are poisoned, operators watched.
CHECKED     := -tags invariants
FUZZTIME    ?= 10s
BENCH       ?= .
BENCHTIME   ?= 1s
GOTESTFLAGS ?=

# Both services run for the command alone and end with it, however it ends. Where
# one cannot be had its tests skip; with CI=true that is a failure.
SERVICES := scripts/postgres run scripts/kafka run

# Packages whose goroutines share something.
CONCURRENT := ./exec/... ./stream ./state ./session ./pgwire ./connector/...

.PHONY: all build test clients race lint fmt vet tidy staticcheck vulncheck fuzz bench examples docs clean

all: build lint test

build:
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

test: clients
	$(SERVICES) go test $(CHECKED) $(GOTESTFLAGS) $(PACKAGES)

# The drivers of other languages, outside the repository.
clients:
	@tests/clients/setup || echo "client drivers are missing: their tests are skipped, or fail with CI=true"

race:
	$(SERVICES) go test -race $(CHECKED) $(GOTESTFLAGS) $(CONCURRENT)

lint: fmt tidy vet staticcheck vulncheck

fmt:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi

vet:
	go vet $(PACKAGES)
	go vet $(CHECKED) $(PACKAGES)

tidy:
	go mod tidy -diff

staticcheck:
	go run $(STATICCHECK) $(PACKAGES)

vulncheck:
	scripts/vulncheck $(PACKAGES)

fuzz:
	scripts/fuzz $(FUZZTIME) $(PACKAGES)

bench:
	$(SERVICES) go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PACKAGES)

# Every example is run to its end by the program itself.
examples: build
	scripts/examples bin/streamsql

# Makes the parts of the documentation anew that the code knows best, and runs the
# SQL of every page. `go test ./tests/docs -update` puts what it prints into the pages.
docs:
	go run ./tests/docs/reference/write
	go test ./cmd/streamsql -run Documented -update
	$(SERVICES) go test ./tests/docs

clean:
	scripts/kafka stop
	scripts/postgres stop
	rm -rf bin
