# A static program in an empty image. docs/installing.md shows how to build and run it.
FROM rust:1.95-bookworm AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends musl-tools \
 && rm -rf /var/lib/apt/lists/*
RUN rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /src
COPY . .
RUN target="$(uname -m)-unknown-linux-musl" \
 && cargo build --release --locked --package switchboard-cli --target "$target" \
 && cp "target/$target/release/switchboard" /switchboard

FROM scratch
# For calls to https, wss and tls.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /switchboard /switchboard
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s \
    CMD ["/switchboard", "call", "http://127.0.0.1:8000", "echo", "healthy"]
ENTRYPOINT ["/switchboard"]
CMD ["serve", "--listen", "http://0.0.0.0:8000", "--public"]
