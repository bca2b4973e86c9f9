"""Convolutions, pools and paddings, and small versions of well-known networks for pictures."""

import torch
import torch.nn.functional as F
from torch import nn

from network import add, network

PICTURE = (3, 2, 8, 8)


def head(channels, classes=4):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


add("cnn_plain", lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3, padding=1),
                                       nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6, 4)), PICTURE)
add("cnn_dynamo", lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 4)),
    PICTURE, dynamo=True, open_batch=False)
add("cnn_strided_dilated", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(),
                                                 nn.Conv2d(4, 6, (3, 2), dilation=(1, 2), padding=(1, 0)), nn.ReLU(),
                                                 head(6)), PICTURE, opset=11)
add("cnn_grouped", lambda: nn.Sequential(nn.Conv2d(2, 8, 3, groups=2), nn.ReLU(), nn.Conv2d(8, 12, 3, groups=4),
                                         nn.ReLU(), head(12)), PICTURE, opset=13, open_batch=False)
add("cnn_separable", lambda: nn.Sequential(nn.Conv2d(2, 6, 1), nn.ReLU6(), nn.Conv2d(6, 6, 3, groups=6, bias=False),
                                           nn.Conv2d(6, 8, 1), nn.ReLU6(), head(8)), PICTURE)
add("cnn_padding_zero", lambda: nn.Sequential(nn.ZeroPad2d((1, 0, 2, 1)), nn.Conv2d(2, 4, 3, stride=2), nn.ReLU(),
                                              nn.Conv2d(4, 6, (2, 4), padding="same"), nn.ReLU(), head(6)), PICTURE)
add("cnn_padding_mirror", lambda: nn.Sequential(nn.ReflectionPad2d((1, 2, 3, 0)), nn.Conv2d(2, 4, 3), nn.ReLU(),
                                                nn.ReplicationPad2d((0, 1, 2, 1)), nn.Conv2d(4, 6, 3, stride=2),
                                                nn.ReLU(), head(6)), PICTURE, opset=11)
add("cnn_padding_circular", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"), nn.ReLU(),
                                                  nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), nn.ReLU(),
                                                  head(6)), PICTURE)
add("cnn_pool_ceil", lambda: nn.Sequential(nn.Conv2d(2, 4, 2), nn.MaxPool2d(3, stride=2, ceil_mode=True),
                                           nn.Conv2d(4, 6, 1), nn.Sigmoid(),
                                           nn.MaxPool2d(2, stride=2, padding=1, ceil_mode=True), nn.Flatten(),
                                           nn.Linear(24, 4)), PICTURE)
add("cnn_pool_average", lambda: nn.Sequential(nn.Conv2d(2, 4, 2), nn.AvgPool2d(3, stride=2, padding=1), nn.Tanh(),
                                              nn.AvgPool2d(2, stride=1, padding=1, count_include_pad=False),
                                              nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(54, 4)), PICTURE)
add("cnn_pool_adaptive", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d((4, 2)),
                                               nn.Conv2d(4, 6, 1), nn.AdaptiveMaxPool2d(2), nn.Flatten(),
                                               nn.Linear(24, 4)), PICTURE, open_batch=False)
add("cnn_transposed", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, stride=2), nn.ReLU(),
                                            nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
                                            nn.ReLU(), nn.ConvTranspose2d(6, 4, 2, groups=2, bias=False), nn.ReLU(),
                                            head(4)), PICTURE)
add("cnn_upsampled", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(),
                                           nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(4, 4, 3), nn.ReLU(),
                                           nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                                           nn.Conv2d(4, 2, 3, stride=2), nn.Upsample((8, 8), mode="bilinear",
                                                                                     align_corners=True)),
    PICTURE, opset=11, loss="reconstruction", rounded="positions of align_corners")
add("cnn_pixel_shuffle", lambda: nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(),
                                               nn.Conv2d(12, 8, 3, padding=1), nn.PixelShuffle(2)), PICTURE,
    loss="reconstruction")
add("cnn_signal", lambda: nn.Sequential(nn.Conv1d(2, 6, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool1d(2),
                                        nn.Conv1d(6, 8, 3, dilation=2, groups=2), nn.ELU(), nn.AvgPool1d(2),
                                        nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1), nn.Softplus(),
                                        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 3)), (3, 2, 40))
add("vgg_tiny", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, padding=1),
                                      nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1),
                                      nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 12), nn.ReLU(),
                                      nn.Dropout(0.5), nn.Linear(12, 4)), PICTURE, opset=13)
add("segmentation", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 1)), PICTURE,
    refused="not in one number per class")


@network("cnn_pools_global", PICTURE, opset=11)
class GlobalPools(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Conv2d(2, 5, 3), nn.Linear(15, 4)

    def forward(self, x):
        x = self.a(x)
        return self.out(torch.cat([x.mean((2, 3)), x.amax((2, 3)), F.adaptive_max_pool2d(-x, 1).flatten(1)], 1))


@network("wavenet", (3, 2, 20))
class WaveNet(nn.Module):
    """Causal: padded on the left alone."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(2, 6, 1)
        self.layers = nn.ModuleList(nn.Conv1d(6, 12, 2, dilation=d) for d in (1, 2, 4))
        self.mix = nn.ModuleList(nn.Conv1d(6, 6, 1) for _ in range(3))
        self.out = nn.Linear(6, 4)

    def forward(self, x):
        x, skipped = self.enter(x), 0
        for d, layer, mix in zip((1, 2, 4), self.layers, self.mix):
            a, b = layer(F.pad(x, (d, 0))).chunk(2, 1)
            y = mix(torch.tanh(a) * torch.sigmoid(b))
            x, skipped = x + y, skipped + y
        return self.out(torch.relu(skipped)[:, :, -1])


class Residual(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b, momentum=0.125)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b, momentum=0.125)
        self.short = nn.Conv2d(a, b, 1, stride, bias=False) if stride > 1 or a != b else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.short(x))


def resnet():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4, momentum=0.125), nn.ReLU(),
                         Residual(4, 4), Residual(4, 8, 2), head(8))


add("resnet_tiny", resnet, PICTURE, keep_norms=True)
add("resnet_folded", resnet, PICTURE, folded_norms=True, opset=13)


@network("densenet_tiny", PICTURE)
class DenseNet(nn.Module):
    """Normalised before each convolution, so that no exporter can merge the two."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(2, 4, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(4 + 2 * i, momentum=0.125) for i in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(4 + 2 * i, 2, 3, padding=1, bias=False) for i in range(3))
        self.out = head(10)

    def forward(self, x):
        x = self.enter(x)
        for norm, conv in zip(self.norms, self.convs):
            x = torch.cat([x, conv(torch.relu(norm(x)))], 1)
        return self.out(F.avg_pool2d(x, 2))


class InvertedResidual(nn.Module):
    def __init__(self, width, wide, activation=nn.ReLU6, excite=False):
        super().__init__()
        norm = lambda c: nn.BatchNorm2d(c, momentum=0.125)
        self.body = nn.Sequential(nn.Conv2d(width, wide, 1, bias=False), norm(wide), activation(),
                                  nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), norm(wide), activation(),
                                  SqueezeExcite(wide, 3) if excite else nn.Identity(),
                                  nn.Conv2d(wide, width, 1, bias=False), norm(width))

    def forward(self, x):
        return x + self.body(x)


class SqueezeExcite(nn.Module):
    def __init__(self, width, narrow, gate=nn.Hardsigmoid):
        super().__init__()
        self.squeeze, self.excite, self.gate = nn.Conv2d(width, narrow, 1), nn.Conv2d(narrow, width, 1), gate()

    def forward(self, x):
        return x * self.gate(self.excite(torch.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))


add("mobilenet_v2_tiny", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1), InvertedResidual(4, 8), InvertedResidual(4, 8),
                                               head(4)), PICTURE, keep_norms=True)
add("mobilenet_v3_tiny", lambda: nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1), InvertedResidual(4, 8, nn.Hardswish, True),
                                               nn.Hardswish(), head(4)), PICTURE, keep_norms=True, opset=13,
    rounded="1 / 6")
add("squeeze_excite", lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.SiLU(), SqueezeExcite(6, 2, nn.Sigmoid), head(6)),
    PICTURE)


@network("inception_tiny", PICTURE)
class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 3, 1), nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU(), nn.Conv2d(2, 3, 3, padding=1))
        self.c = nn.Sequential(nn.Conv2d(2, 2, (1, 5), padding=(0, 2)), nn.Conv2d(2, 3, (5, 1), padding=(2, 0)))
        self.d = nn.Conv2d(2, 3, 1)
        self.out = head(12)

    def forward(self, x):
        pooled = F.max_pool2d(x, 3, stride=1, padding=1)
        return self.out(torch.relu(torch.cat([self.a(x), self.b(x), self.c(x), self.d(pooled)], 1)))


@network("unet_tiny", PICTURE, loss="reconstruction")
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU())
        self.down1, self.down2, self.deep = block(2, 4), block(4, 6), block(6, 8)
        self.up2, self.mix2, self.mix1 = nn.ConvTranspose2d(8, 6, 2, stride=2), block(12, 6), block(10, 4)
        self.out = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.deep(F.max_pool2d(b, 2))
        b = self.mix2(torch.cat([self.up2(c), b], 1))
        up = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.out(self.mix1(torch.cat([up, a], 1)))


@network("shufflenet_tiny", PICTURE)
class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(2, 8, 3, stride=2, padding=1)
        self.one, self.deep, self.two = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 4, 1)
        self.out = head(8)

    def forward(self, x):
        x = self.enter(x)
        for _ in range(2):
            a, b = x.chunk(2, 1)
            x = torch.cat([a, torch.relu(self.two(self.deep(torch.relu(self.one(b)))))], 1)
            n, c, h, w = x.shape
            x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return self.out(x)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.deep = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm, self.wide, self.narrow = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gamma = nn.Parameter(0.125 * torch.ones(width))

    def forward(self, x):
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        y = self.gamma * self.narrow(F.silu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


add("convnext_tiny", lambda: nn.Sequential(nn.Conv2d(2, 6, 2, stride=2), ConvNextBlock(6), ConvNextBlock(6), head(6)),
    PICTURE)


@network("pyramid_pooling", PICTURE, open_batch=False)
class PyramidPooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(63, 4)

    def forward(self, x):
        x = torch.relu(self.a(x))
        return self.out(torch.cat([F.adaptive_max_pool2d(x, s).flatten(1) for s in (4, 2, 1)], 1))


@network("feature_pyramid", PICTURE, opset=13)
class FeaturePyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.side1, self.side2 = nn.Conv2d(4, 5, 1), nn.Conv2d(6, 5, 1)
        self.out = head(5)

    def forward(self, x):
        a = torch.relu(self.down1(x))
        b = self.side2(torch.relu(self.down2(a)))
        return self.out(torch.relu(self.side1(a) + F.interpolate(b, scale_factor=2.0, mode="nearest")))
