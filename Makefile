# What CI runs and what a developer runs are the same targets.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PACKAGES    ?= ./...
FUZZTIME    ?= 10s
BENCH       ?= .
BENCHTIME   ?= 1s
GOTESTFLAGS ?=

# Both services run for the command alone and end with it, however it ends. Where
# one cannot be had its tests skip; with CI=true that is a failure.
SERVICES := scripts/postgres run scripts/kafka run

.PHONY: all build test race lint fmt vet staticcheck vulncheck fuzz bench examples clean

all: build lint test

build:
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

test:
	$(SERVICES) go test $(GOTESTFLAGS) $(PACKAGES)

race:
	$(SERVICES) go test -race -tags invariants $(GOTESTFLAGS) $(PACKAGES)

lint: fmt vet staticcheck vulncheck

fmt:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$out" ]; then echo "not formatted by gofmt:"; echo "$$out"; exit 1; fi

vet:
	go vet $(PACKAGES)
	go vet -tags invariants $(PACKAGES)

staticcheck:
	go run $(STATICCHECK) $(PACKAGES)

vulncheck:
	scripts/vulncheck $(PACKAGES)

fuzz:
	scripts/fuzz $(FUZZTIME) $(PACKAGES)

bench:
	$(SERVICES) go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PACKAGES)

# Every script under examples/ is run to its end by the program itself.
examples: build
	@for f in examples/*.sql; do echo "== $$f"; bin/streamsql run "$$f" || exit 1; done

clean:
	scripts/kafka stop
	scripts/postgres stop
	rm -rf bin
