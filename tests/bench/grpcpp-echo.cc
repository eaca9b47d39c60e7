/* SPDX-License-Identifier: Apache-2.0 */
/* grpcpp-echo SOCKET REPLY-FILE: the same answer from libgrpc++ (callback API), the usual C++ server. */
#include <fstream>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <iterator>
#include <string>

namespace
{
class Reactor : public grpc::ServerGenericBidiReactor
{
      public:
	explicit Reactor(const std::string &answer) : slice_(answer), reply_(&slice_, 1)
	{
		StartRead(&request_);
	}

	void OnReadDone(bool ok) override
	{
		if (ok)
			StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
		else
			Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request"));
	}

	void OnDone() override
	{
		delete this;
	}

      private:
	grpc::ByteBuffer request_;
	grpc::Slice slice_;
	grpc::ByteBuffer reply_;
};

class Echo : public grpc::CallbackGenericService
{
      public:
	explicit Echo(std::string answer) : answer_(std::move(answer))
	{
	}

	grpc::ServerGenericBidiReactor *CreateReactor(grpc::GenericCallbackServerContext *) override
	{
		return new Reactor(answer_);
	}

      private:
	const std::string answer_;
};
} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	std::ifstream file(argv[2], std::ios::binary);
	Echo echo(std::string(std::istreambuf_iterator<char>(file), {}));
	grpc::ServerBuilder builder;

	builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
	builder.RegisterCallbackGenericService(&echo);
	builder.BuildAndStart()->Wait();
}
